"""What all tests share: hypothesis tries the same examples every time, so a run of the suite can be repeated."""

from hypothesis import settings

settings.register_profile("house", derandomize=True, deadline=None, database=None)
settings.load_profile("house")
