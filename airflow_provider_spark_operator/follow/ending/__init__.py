"""The end of an application: the evidence and the judgement."""
