"""The commands use the Spark session of the other tests, if one is asked for."""

from pipeline.conftest import spark

__all__ = ["spark"]
