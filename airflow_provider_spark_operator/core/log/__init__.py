"""The driver's log: root cause, levels and hidden secrets."""
