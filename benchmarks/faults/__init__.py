"""A campaign of faults: real processes that publish and read, something that strikes them, and somebody outside who
compares what each of them wrote down."""
