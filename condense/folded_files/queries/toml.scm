; Tables, and values that go over several lines.
(table . [(bare_key) (dotted_key) (quoted_key)] @name) @definition
(table_array_element . [(bare_key) (dotted_key) (quoted_key)] @name) @definition
(pair . (_) @name [(array) (inline_table) (string)]) @section
