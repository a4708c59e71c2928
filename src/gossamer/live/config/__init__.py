"""What a node is told before it starts, read from files, variables and flags, and checked.

In: texts. Out: one `Config`, or a sentence that says what is wrong with it.
"""
