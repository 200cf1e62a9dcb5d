"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "service_projects",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("slug", sa.String(length=100), nullable=False),
        sa.Column("title", sa.String(length=400), nullable=False),
        sa.Column("created", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_projects")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_service_projects_slug"), "service_projects", ["slug"], unique=True)
    op.create_table(
        "service_users",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("password", sa.String(length=400), nullable=False),
        sa.Column("operator", sa.Boolean(), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("created", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_users")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_service_users_name"), "service_users", ["name"], unique=True)
    op.create_table(
        "service_audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "project_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=True
        ),
        sa.Column("at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("who", sa.String(length=100), nullable=False),
        sa.Column("action", sa.String(length=100), nullable=False),
        sa.Column("subject", sa.String(length=400), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["service_projects.id"], name=op.f("fk_service_audit_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_audit")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_service_audit_project_id_id"), "service_audit", ["project_id", "id"], unique=False)
    op.create_table(
        "service_links",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("expires", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["service_users.id"], name=op.f("fk_service_links_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_service_links")),
    )
    op.create_table(
        "service_members",
        sa.Column(
            "project_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("user_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("role", sa.String(length=100), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["service_projects.id"], name=op.f("fk_service_members_project_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["service_users.id"], name=op.f("fk_service_members_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "user_id", name=op.f("pk_service_members")),
    )
    op.create_table(
        "service_monitors",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "project_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("reference_id", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("room", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("pane", sa.String(length=100), nullable=False),
        sa.Column("n_windows", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("zone", sa.String(length=100), nullable=False),
        sa.Column("p_value", sa.Double(), nullable=True),
        sa.Column("decided", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("created", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["service_projects.id"], name=op.f("fk_service_monitors_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_monitors")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_service_monitors_project_id_name"), "service_monitors", ["project_id", "name"], unique=True
    )
    op.create_table(
        "service_sessions",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("csrf", sa.String(length=100), nullable=False),
        sa.Column("created", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("expires", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["service_users.id"], name=op.f("fk_service_sessions_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_service_sessions")),
    )
    op.create_table(
        "service_sinks",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "project_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=100), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["service_projects.id"], name=op.f("fk_service_sinks_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_sinks")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_service_sinks_project_id"), "service_sinks", ["project_id"], unique=False)
    op.create_table(
        "service_tokens",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "project_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("role", sa.String(length=100), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        sa.Column("created", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["service_projects.id"], name=op.f("fk_service_tokens_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_tokens")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_service_tokens_digest"), "service_tokens", ["digest"], unique=True)
    op.create_table(
        "service_alarms",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "project_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column(
            "monitor_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("zone", sa.String(length=100), nullable=False),
        sa.Column("p_value", sa.Double(), nullable=False),
        sa.Column("columns", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=100), nullable=False),
        sa.Column("raised", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("handled_by", sa.String(length=100), nullable=False),
        sa.Column("handled", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["service_monitors.id"], name=op.f("fk_service_alarms_monitor_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["service_projects.id"], name=op.f("fk_service_alarms_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_alarms")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_service_alarms_monitor_id_number"), "service_alarms", ["monitor_id", "number"], unique=True
    )
    op.create_index(
        op.f("ix_service_alarms_project_id_state_id"), "service_alarms", ["project_id", "state", "id"], unique=False
    )
    op.create_table(
        "service_evidence",
        sa.Column(
            "monitor_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("origin", sa.String(length=100), nullable=False),
        sa.Column("level", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("n_rows", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["service_monitors.id"], name=op.f("fk_service_evidence_monitor_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("monitor_id", "origin", "level", "block", name=op.f("pk_service_evidence")),
    )
    op.create_table(
        "service_mutes",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "monitor_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("column", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        sa.Column("created", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["service_monitors.id"], name=op.f("fk_service_mutes_monitor_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_mutes")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_service_mutes_monitor_id"), "service_mutes", ["monitor_id"], unique=False)
    op.create_table(
        "service_parts",
        sa.Column(
            "monitor_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["service_monitors.id"], name=op.f("fk_service_parts_monitor_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("monitor_id", "name", name=op.f("pk_service_parts")),
    )
    op.create_table(
        "service_pushes",
        sa.Column(
            "monitor_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("key", sa.String(length=100), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("n_rows", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("late_rows", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("duplicate_rows", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("untimed_rows", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("first_window", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("next_window", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("received", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["service_monitors.id"], name=op.f("fk_service_pushes_monitor_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("monitor_id", "key", name=op.f("pk_service_pushes")),
    )
    op.create_table(
        "service_references",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "monitor_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("origin", sa.String(length=100), nullable=False),
        sa.Column("note", sa.String(length=400), nullable=False),
        sa.Column("columns", sa.Text(), nullable=False),
        sa.Column("n_rows", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        sa.Column("created", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["service_monitors.id"], name=op.f("fk_service_references_monitor_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_references")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_service_references_monitor_id_version"), "service_references", ["monitor_id", "version"], unique=True
    )
    op.create_table(
        "service_windows",
        sa.Column(
            "monitor_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("n_windows", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("zone", sa.String(length=100), nullable=False),
        sa.Column("p_value", sa.Double(), nullable=False),
        sa.Column("n_rows", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("first_row", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("last_row", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("starts", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("ends", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("decided", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("values_p", sa.Double(), nullable=True),
        sa.Column("values_effect", sa.Double(), nullable=True),
        sa.Column("missing_p", sa.Double(), nullable=True),
        sa.Column("missing_effect", sa.Double(), nullable=True),
        sa.Column("concept_p", sa.Double(), nullable=True),
        sa.Column("concept_effect", sa.Double(), nullable=True),
        sa.Column("adapted", sa.Boolean(), nullable=False),
        sa.Column("reference_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("first_pane", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("last_pane", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("columns", sa.LargeBinary(), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["service_monitors.id"], name=op.f("fk_service_windows_monitor_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("monitor_id", "number", name=op.f("pk_service_windows")),
    )
    op.create_index(
        op.f("ix_service_windows_monitor_id_decided"), "service_windows", ["monitor_id", "decided"], unique=False
    )
    op.create_index(
        op.f("ix_service_windows_monitor_id_zone_number"),
        "service_windows",
        ["monitor_id", "zone", "number"],
        unique=False,
    )
    op.create_table(
        "service_comments",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "alarm_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("author", sa.String(length=100), nullable=False),
        sa.Column("written", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["alarm_id"], ["service_alarms.id"], name=op.f("fk_service_comments_alarm_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_comments")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_service_comments_alarm_id"), "service_comments", ["alarm_id"], unique=False)
    op.create_table(
        "service_deliveries",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("sink_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column(
            "alarm_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("state", sa.String(length=100), nullable=False),
        sa.Column("attempts", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("next_try", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("reason", sa.String(length=400), nullable=False),
        sa.ForeignKeyConstraint(
            ["alarm_id"], ["service_alarms.id"], name=op.f("fk_service_deliveries_alarm_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["sink_id"], ["service_sinks.id"], name=op.f("fk_service_deliveries_sink_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_deliveries")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_service_deliveries_state_next_try"), "service_deliveries", ["state", "next_try"], unique=False
    )
