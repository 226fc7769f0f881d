; Functions, methods and classes; a decorated one is shown at its own line.
(function_definition name: (identifier) @name) @definition
(class_definition name: (identifier) @name) @definition
(type_alias_statement left: (_) @name) @definition
