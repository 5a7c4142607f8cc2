"""The chain: push training, wait, verify, push inference, wait, submit, score; journalled, so that it can continue."""
