"""What arrives, judged before the machine hears of it: who says so, may they, does the proof hold?

In: frames of a link. Out: givens for the machine, and nothing whose proof did not hold.
"""
