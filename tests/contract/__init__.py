"""Compare the answers of the local API server with those of a real kube-apiserver to the same requests.

A behaviour is a short script of requests. `recorded/` contains the answers of the real server. The local server must
give the same status codes, bodies and watch events, except for ids and times.
"""
