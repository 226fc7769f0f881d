; Functions and macros, and what other forms define under a name.
(function_definition name: (symbol) @name) @definition
(macro_definition name: (symbol) @name) @definition
(source_file (list . (symbol) @_form . (_) @name
  (#match? @_form "^(cl-)?(def|define-)")) @definition)
(source_file (special_form "defvar" (symbol) @name) @section)
(source_file (special_form "defconst" (symbol) @name) @section)
