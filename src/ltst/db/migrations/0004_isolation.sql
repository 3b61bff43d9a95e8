-- Who may see what. `ltst_user` is the role that the program works as for one user: it sees that user's rows
-- and no others. `ltst_keeper` does what crosses users: maintenance, statistics, erasing, the worker.
-- Neither is a superuser, neither bypasses row-level security, neither can log in.

DO $$
DECLARE
    role_name TEXT;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['ltst_user', 'ltst_keeper'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
            -- Roles belong to the whole cluster: another database may be creating the same one right now.
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', role_name);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
        END IF;
        -- Since Postgres 16 whoever creates a role may grant it but not become it, until granted it.
        IF NOT pg_has_role(current_user, role_name, CASE
            WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END) THEN
            EXECUTE format('GRANT %I TO %I', role_name, current_user);
        END IF;
    END LOOP;
END $$;

DO $$
DECLARE
    table_name TEXT;
    everything TEXT[] := ARRAY[
        'conversation_sessions', 'conversation_messages', 'conversation_context', 'user_preferences', 'user_keys',
        'user_agent_prompt_customizations', 'user_facts', 'memory_entries', 'documents', 'document_chunks',
        'session_relationships', 'memory_retrieval_cache', 'memory_performance_metrics', 'retention_policies',
        'event_ledger'];
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO ltst_user, ltst_keeper', current_schema());
    FOREACH table_name IN ARRAY everything LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', table_name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', table_name);
        EXECUTE format(
            'CREATE POLICY own_rows ON %I TO ltst_user '
            'USING (user_id = current_setting(''ltst.user_id'', true)) '
            'WITH CHECK (user_id = current_setting(''ltst.user_id'', true))', table_name);
        EXECUTE format('CREATE POLICY all_rows ON %I TO ltst_keeper USING (true) WITH CHECK (true)', table_name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO ltst_user, ltst_keeper', table_name);
    END LOOP;
END $$;

-- The ledger is append-only for everyone but the keeper, who removes it with its user.
REVOKE UPDATE, DELETE ON event_ledger FROM ltst_user;
REVOKE UPDATE ON event_ledger FROM ltst_keeper;
GRANT SELECT ON SEQUENCE event_ledger_event_id_seq TO ltst_keeper;

GRANT SELECT ON session_summary, user_preference_summary TO ltst_user, ltst_keeper;
GRANT SELECT, INSERT, DELETE ON chat_message_history TO ltst_user;
GRANT SELECT ON ltst_migrations TO ltst_user, ltst_keeper;

-- The defaults of the user `system` apply to everyone who has not set their own, so everyone may read them.
CREATE POLICY defaults ON user_preferences FOR SELECT TO ltst_user USING (user_id = 'system');
INSERT INTO user_preferences (user_id, preference_key, preference_value, preference_type) VALUES
    ('system', 'language', 'the language the user writes in', 'communication'),
    ('system', 'tone', 'friendly and to the point', 'communication'),
    ('system', 'answer_length', 'as short as the question allows', 'communication'),
    ('system', 'code_style', 'follow the conventions of the project at hand', 'coding');

-- No user's data in here, but no table is left outside the rule.
ALTER TABLE ltst_migrations ENABLE ROW LEVEL SECURITY;
ALTER TABLE ltst_migrations FORCE ROW LEVEL SECURITY;
CREATE POLICY everyone ON ltst_migrations USING (true) WITH CHECK (true);
