"""Document and parameters to the custom resource, for every dialect; standard library only: DAG files import it."""
