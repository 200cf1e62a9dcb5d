"""What Alembic runs: the connection comes from `gapdrift.service.database.Database.migrate`."""

from alembic import context

from gapdrift.service.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table="service_alembic_version",
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
