-- Epochs: the ledger survives a move to another server. Transaction ids order events within one server only; a restored
-- ledger would hide its events from new followers, and hide new events from old ones. So a restore begins a new epoch,
-- and the order of events is the epoch, then the transaction, then the number.

-- An epoch's number is the millisecond in which it began, so that two restores of one backup never share one. Its root is
-- the last event that the ledger held then. The epochs of a ledger that a restore replaced are kept: who followed it goes
-- on from the root that both ledgers share. Epoch 0 is everything before epochs.
CREATE TABLE ledger_epochs (
    epoch      BIGINT PRIMARY KEY,
    home       BIGINT NOT NULL,
    root_epoch BIGINT NOT NULL DEFAULT 0,
    root_xact  XID8   NOT NULL DEFAULT '0',
    root_event BIGINT NOT NULL DEFAULT 0,
    replaced   BOOLEAN NOT NULL DEFAULT false
);
ALTER TABLE ledger_epochs ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger_epochs FORCE ROW LEVEL SECURITY;
CREATE POLICY everyone ON ledger_epochs USING (true) WITH CHECK (true);
GRANT SELECT ON ledger_epochs TO ltst_user;
GRANT SELECT, INSERT ON ledger_epochs TO ltst_keeper;
INSERT INTO ledger_epochs (epoch, home) SELECT 0, system_identifier FROM pg_control_system();

ALTER TABLE event_ledger ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;
DROP INDEX idx_event_ledger_order, idx_event_ledger_user_order;
CREATE INDEX idx_event_ledger_order ON event_ledger (epoch, xact, event_id);
CREATE INDEX idx_event_ledger_user_order ON event_ledger (user_id, epoch, xact, event_id);

-- Begin an epoch: events from now on belong to it. The new default waits for every transaction that wrote an event, so
-- no event of an older epoch can appear afterwards. `gap` numbers are left out, for events that the ledger lost.
CREATE FUNCTION ltst_begin_epoch(gap BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
    root event_ledger;
    begun BIGINT;
BEGIN
    LOCK TABLE event_ledger IN ACCESS EXCLUSIVE MODE;
    SET LOCAL ROLE ltst_keeper;
    SELECT * INTO root FROM event_ledger AS event ORDER BY event.epoch DESC, event.xact DESC, event.event_id DESC LIMIT 1;
    INSERT INTO ledger_epochs (epoch, home, root_epoch, root_xact, root_event)
    SELECT greatest((extract(epoch FROM clock_timestamp()) * 1000)::bigint, (SELECT max(epoch) + 1 FROM ledger_epochs)),
           system_identifier, coalesce(root.epoch, 0), coalesce(root.xact, '0'::xid8), coalesce(root.event_id, 0)
    FROM pg_control_system()
    RETURNING epoch INTO begun;
    RESET ROLE;
    EXECUTE format('ALTER TABLE event_ledger ALTER COLUMN epoch SET DEFAULT %s', begun);
    IF gap > 0 THEN
        PERFORM setval('event_ledger_event_id_seq', nextval('event_ledger_event_id_seq') + gap);
    END IF;
    RETURN begun;
END $$;
REVOKE EXECUTE ON FUNCTION ltst_begin_epoch FROM PUBLIC;
SELECT ltst_begin_epoch(0);
