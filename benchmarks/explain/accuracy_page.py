from typing import Any
def page_text(results: dict[str, Any], sets: Any) -> str:
    return "later"
