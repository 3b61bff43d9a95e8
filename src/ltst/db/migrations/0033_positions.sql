-- Positions: events are ordered by numbers that a follower can trust, instead of by transactions. A transaction that was
-- open anywhere on the server, in whatever database, hid the events that came after it; and of several servers that hold
-- one ledger, each counts its own.

-- Events from before keep the transaction that wrote them as their position, so that cursors stay good.
DROP INDEX idx_event_ledger_order, idx_event_ledger_user_order;
ALTER TABLE event_ledger ALTER COLUMN xact DROP DEFAULT;
ALTER TABLE event_ledger ALTER COLUMN xact TYPE BIGINT USING xact::text::bigint;
ALTER TABLE event_ledger RENAME COLUMN xact TO position;
CREATE INDEX idx_event_ledger_order ON event_ledger (epoch, position, event_id);
CREATE INDEX idx_event_ledger_user_order ON event_ledger (user_id, epoch, position, event_id);
ALTER TABLE ledger_epochs ALTER COLUMN root_xact DROP DEFAULT;
ALTER TABLE ledger_epochs ALTER COLUMN root_xact TYPE BIGINT USING root_xact::text::bigint;
ALTER TABLE ledger_epochs RENAME COLUMN root_xact TO root_position;
ALTER TABLE ledger_epochs ALTER COLUMN root_position SET DEFAULT 0;

-- Where the numbers come from; it begins after the last transaction.
CREATE SEQUENCE ledger_positions OWNED BY event_ledger.position;
SELECT setval('ledger_positions', pg_current_xact_id()::text::bigint);
GRANT SELECT, USAGE ON SEQUENCE ledger_positions TO ltst_user, ltst_keeper;

-- A change may end after one that has a higher number, so whoever follows the ledger has to know which numbers are still
-- to appear. Locks tell it: a change locks a number before it draws those of its events, which are higher, and holds it
-- until it is over. The first key of such a lock is whose change it is, the second is the number, as far as it fits.

-- The first key of the locks of a user, or of those who change the memories of several; one of 2^24 under the letter l.
CREATE FUNCTION ltst_place_lock(whose TEXT) RETURNS INTEGER LANGUAGE sql IMMUTABLE AS $$
    SELECT (108 << 24) + (hashtext(whose) & 16777215)
$$;

-- Gives an event its position. The events of one change share one, and stand in the order of their ids: it is drawn once
-- for the user of the transaction, and once for all others together.
CREATE FUNCTION ltst_place_event() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    whose CONSTANT TEXT := CASE current_setting('ltst.user_id', true) WHEN NEW.user_id THEN NEW.user_id ELSE '' END;
    setting CONSTANT TEXT := CASE whose WHEN '' THEN 'ltst.place_of_others' ELSE 'ltst.place' END;
    -- The position and whose it is; empty where there is none yet.
    held CONSTANT TEXT := coalesce(current_setting(setting, true), '');
    before BIGINT;
BEGIN
    IF held <> '' AND substr(held, strpos(held, ' ') + 1) = whose THEN
        NEW.position := split_part(held, ' ', 1);
        RETURN NEW;
    END IF;
    before := nextval('ledger_positions');
    PERFORM pg_advisory_xact_lock_shared(ltst_place_lock(whose), before::bit(32)::integer);
    NEW.position := nextval('ledger_positions');
    PERFORM set_config(setting, NEW.position || ' ' || whose, true);  -- until the transaction ends, as the lock
    RETURN NEW;
END $$;
CREATE TRIGGER place_event_trigger BEFORE INSERT ON event_ledger FOR EACH ROW EXECUTE FUNCTION ltst_place_event();

-- The last position up to which no event of a user, or of anyone for null, is still to appear. All that there are can be
-- read by the next statement: the end of the numbers is looked at before the locks, and the locks before the events.
CREATE FUNCTION ltst_last_settled(whose TEXT) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
    drawn CONSTANT BIGINT := (SELECT last_value FROM ledger_positions);
    earliest BIGINT;
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE read_only_sql_transaction USING
            MESSAGE = 'a standby does not know which changes are not over: follow the ledger at the primary';
    END IF;
    SELECT min(drawn - ((drawn - objid::bigint) & 4294967295)) INTO earliest FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2 AND classid::bigint >> 24 = 108
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (whose IS NULL OR classid::bigint IN (ltst_place_lock(whose), ltst_place_lock('')));
    RETURN least(drawn, earliest);
END $$;

-- The same as before, with positions.
CREATE OR REPLACE FUNCTION ltst_begin_epoch(gap BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
    root event_ledger;
    begun BIGINT;
BEGIN
    LOCK TABLE event_ledger IN ACCESS EXCLUSIVE MODE;
    SET LOCAL ROLE ltst_keeper;
    SELECT * INTO root FROM event_ledger AS event
    ORDER BY event.epoch DESC, event.position DESC, event.event_id DESC LIMIT 1;
    INSERT INTO ledger_epochs (epoch, home, root_epoch, root_position, root_event)
    SELECT greatest((extract(epoch FROM clock_timestamp()) * 1000)::bigint, (SELECT max(epoch) + 1 FROM ledger_epochs)),
           system_identifier, coalesce(root.epoch, 0), coalesce(root.position, 0), coalesce(root.event_id, 0)
    FROM pg_control_system()
    RETURNING epoch INTO begun;
    RESET ROLE;
    EXECUTE format('ALTER TABLE event_ledger ALTER COLUMN epoch SET DEFAULT %s', begun);
    IF gap > 0 THEN
        PERFORM setval('event_ledger_event_id_seq', nextval('event_ledger_event_id_seq') + gap);
    END IF;
    RETURN begun;
END $$;
