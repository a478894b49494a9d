"""Which peers there are. Read without importing any of them."""

PEERS = {
    "LangGraph PostgresStore": ("langgraph_store", "LangGraphStore"),
    "LangGraph AsyncPostgresStore": ("langgraph_async_store", "LangGraphAsyncStore"),
    "LangGraph PostgresSaver": ("langgraph_saver", "LangGraphSaver"),
    "LangGraph AsyncPostgresSaver": ("langgraph_async_saver", "LangGraphAsyncSaver"),
    "OpenAI SQLAlchemySession": ("openai_sqlalchemy", "OpenAISQLAlchemy"),
    "OpenAI SQLiteSession": ("openai_sqlite", "OpenAISQLite"),
    "Google ADK DatabaseSessionService": ("adk", "GoogleAdk"),
}
"""Module and class by the name in the report."""

PACKAGES = ("langgraph", "langgraph-checkpoint-postgres", "openai-agents", "google-adk", "asyncpg")
"""Whose versions the report names."""
