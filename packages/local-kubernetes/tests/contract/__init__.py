"""What the local API server answers, held to what a real kube-apiserver answers to the same requests.

A behaviour is a short script of requests. What the real server answered to it is kept in `recorded/`; the local one
has to give the same status codes, bodies and watch events, but for ids and times.
"""
