"""What Spark did: the figures of its REST API and its event log, in bounded form."""
