"""Letters that show nothing by themselves: they steer a screen, turn the direction of writing, or hide.

A fixed list rather than what this Python knows of Unicode: two nodes must agree on which names are names.
"""

CONTROLS = r"\x00-\x1f\x7f-\x9f"
DIRECTIONS = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"Marks that write text from the right, or override how it runs."
HIDDEN = (
    r"\xad\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200d\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff"
    r"\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
"Format marks, and places kept for more of them."
NOBODYS = r"\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff"
"Halves of letters, and letters that mean what two people agreed upon."
SPACES = r"\x20\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"

UNSEEN = CONTROLS + DIRECTIONS + HIDDEN + NOBODYS
"For a class of a regular expression."
