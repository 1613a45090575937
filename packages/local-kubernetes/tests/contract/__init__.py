"""Comparison of the local API server with a real kube-apiserver.

A behaviour is a short script of requests. `recorded/` contains the answers of the real server. The local server must
return the same status codes, bodies and watch events, except for ids and times.
"""
