-- The statements of views.py, whose names of tables and columns are known only when they are seen.

-- name: adopted
SELECT * FROM adopted_tables
WHERE %(table)s::text IN (schema_name || '.' || table_name, quote_ident(schema_name) || '.' || quote_ident(table_name))
   OR %(table)s::text IN (table_name, quote_ident(table_name)) AND schema_name = ANY (current_schemas(false)::text[])
ORDER BY array_position(current_schemas(false)::text[], schema_name) NULLS LAST LIMIT 1

-- name: grants
SELECT NULL, pg_get_userbyid(nullif(grantee, 0)), privilege_type AS privilege, is_grantable AS passing
FROM pg_class, aclexplode(coalesce(relacl, acldefault('r', relowner))) WHERE pg_class.oid = {table}::regclass
UNION ALL
SELECT attname::text, pg_get_userbyid(nullif(grantee, 0)), privilege_type, is_grantable
FROM pg_attribute, aclexplode(attacl) WHERE attrelid = {table}::regclass AND NOT attisdropped

-- name: content
SELECT count(*), coalesce(encode(sha256(string_agg(hash, '' ORDER BY hash)), 'hex'), '')
FROM (SELECT sha256(convert_to(jsonb_build_array({values})::text, 'UTF8')) AS hash FROM {source}) AS hashed
