"""Hadoop, Kerberos and secrets of the driver."""
