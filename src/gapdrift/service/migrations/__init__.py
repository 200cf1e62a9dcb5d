"""Changes of the tables from version to version, for Alembic."""
