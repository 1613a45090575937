"""The life of applications and clusters: situations, rules, transitions, reasons and `decide`."""
