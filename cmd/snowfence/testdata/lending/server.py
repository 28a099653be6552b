"""A server for gunicorn --preload: a worker id is claimed before the workers are forked."""
import os

import snowfence

ids = snowfence.open([os.environ["SNOWFENCE_URL"]], "default", program="gunicorn")
before = ids.fill(100)  # by the process that forks


def app(environ, start_response):
    mine = before if environ["PATH_INFO"] == "/before" else ids.fill(100, 30)
    start_response("200 OK", [("Content-Type", "text/plain"), ("X-Worker", str(os.getpid()))])
    return ["".join("%d\n" % i for i in mine).encode()]
