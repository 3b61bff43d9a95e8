-- A role that may become `ltst_user` works on users' memories by SQL. It is given what the program itself needs for that,
-- and nothing with which it could become somebody else to a server or undo what others rely on.

-- Keys to the server are the keeper's alone: whoever could add a row would hold a key of any user, or an admin's.
REVOKE ALL ON api_keys FROM ltst_user;
DROP POLICY own_rows ON api_keys;

-- A data key is made once. Changing or removing it would make sensitive values unreadable for good; the keeper does both,
-- when the master key is rotated and when a user is erased. To lock the row takes the right to update some column.
REVOKE UPDATE, DELETE ON user_keys FROM ltst_user;
GRANT UPDATE (user_id) ON user_keys TO ltst_user;

-- Events are added with their words; number, moment and place in the order are the database's to give.
REVOKE INSERT ON event_ledger FROM ltst_user;
GRANT INSERT (user_id, actor, action, noun, row_id, details) ON event_ledger TO ltst_user;

-- What another program knows a message by is written by functions that run with the owner's rights.
REVOKE INSERT, UPDATE, DELETE ON adopted_messages FROM ltst_user;
