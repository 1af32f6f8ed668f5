"""Sends the pushes of a JSON file with aioapns, one after the other and then many at once.

Takes the file's path, and prints a JSON object with what aioapns says of each.
"""

import asyncio
import json
import logging
import ssl
import sys

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsDevelopmentClientProtocol


def client(task, credentials):
    APNsDevelopmentClientProtocol.APNS_SERVER = "localhost"
    APNsDevelopmentClientProtocol.APNS_PORT = task["push"]
    return APNs(
        **credentials,
        topic=task["topic"],
        use_sandbox=True,
        ssl_context=ssl.create_default_context(cafile=task["trust"]),
    )


def request(push):
    return NotificationRequest(
        device_token=push["token"],
        message=push["message"],
        notification_id=push.get("id"),
        time_to_live=push.get("timeToLive"),
        priority=push.get("priority"),
        collapse_key=push.get("collapseID"),
        push_type=PushType(push["type"]) if push.get("type") else None,
        apns_topic=push.get("topic"),
    )


def shown(result):
    return {
        "id": result.notification_id,
        "status": int(result.status),
        "reason": result.description,
        "timestamp": result.timestamp,
        "isSuccessful": result.is_successful,
    }


async def send(task, credentials, pushes):
    apns = client(task, credentials)
    results = [shown(await apns.send_notification(request(push))) for push in pushes]
    apns.pool.close()
    return results


async def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        task = json.load(file)
    logging.disable()
    key = {"key": task["key"], "key_id": task["keyID"], "team_id": task["teamID"]}
    forged = {**key, "key": task["forgedKey"]}
    certificate = {"client_cert": task["certificate"]}
    answers = {
        "pushes": await send(task, key, task["pushes"]),
        "forged": await send(task, forged, task["pushes"][:1]),
        "certificate": await send(task, certificate, task["pushes"][:1]),
    }
    apns = client(task, key)
    many = [request({**task["pushes"][0], "id": None}) for _ in range(task["many"])]
    answers["many"] = [
        shown(result)
        for result in await asyncio.gather(*map(apns.send_notification, many))
    ]
    apns.pool.close()
    json.dump(answers, sys.stdout)


asyncio.run(main())
