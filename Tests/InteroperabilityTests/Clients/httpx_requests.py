"""Sends the requests of a JSON file over one connection for each port, with httpx.

Takes the file's path, and prints a JSON list of what came back.
"""

import json
import ssl
import sys

import httpx


def answer(client, base, case):
    request = client.build_request(
        case["method"],
        base + case["path"],
        headers=[(name, value) for name, value in case["fields"]],
        content=case["body"].encode(),
    )
    response = client.send(request)
    return {
        "version": response.http_version,
        "status": response.status_code,
        "fields": dict(response.headers),
        "body": response.text,
    }


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        task = json.load(file)
    trust = ssl.create_default_context(cafile=task["trust"])
    if task["certificate"]:
        trust.load_cert_chain(task["certificate"])
    with httpx.Client(http1=False, http2=True, verify=trust, timeout=60) as client:
        answers = [
            answer(client, f"https://localhost:{task[case['port']]}", case)
            for case in task["cases"]
        ]
    json.dump(answers, sys.stdout)


main()
