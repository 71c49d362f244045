"""Code that runs step by step and keeps its variables. A fork has a copy of them."""

from offshoot import Offshoot

with Offshoot() as client, client.sandboxes.create("code-interpreter", ttl_seconds=600) as sandbox:
    sandbox.code.run(
        "import pandas as pd\nsales = pd.DataFrame({'city': ['Bern', 'Bonn', 'Bern'], 'amount': [3, 4, 5]})"
    )
    print(sandbox.code.run("sales.groupby('city').amount.sum().to_dict()").text)

    failed = sandbox.code.run("sales.nothing")
    print(failed.error.name if failed.error else None)

    with sandbox.fork() as fork:
        fork.code.run("sales.loc[0, 'amount'] = 100")
        changed, original = fork.code.run("sales.amount.sum()"), sandbox.code.run("sales.amount.sum()")
        print("fork:", changed.text, "original:", original.text)
