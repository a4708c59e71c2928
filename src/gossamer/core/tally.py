"""What one event's spread amounts to, counted per community. Kernels and worlds fill the same columns."""

LIVE, REACHED, SENT_INTRA, SENT_UP, ARRIVED, ARRIVED_UP, PARASITES, ROUNDS_LAST = range(8)
COLUMNS = ("live", "reached", "sent_intra", "sent_up", "arrived", "arrived_up", "parasites", "rounds_last")
