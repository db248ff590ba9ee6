"""A server that answers requests and keeps every response forever."""

history = []


def answer(request):
    body = bytearray(20_000)
    history.append({"request": request, "name": f"request {request}", "body": body})
    return len(body)


def serve():
    for request in range(1_000):
        answer(request)


serve()
