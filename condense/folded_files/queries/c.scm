; Functions (definitions and prototypes), types and macros that take arguments.
(function_definition
  declarator: (_ declarator: (_) @name)) @definition

; Prototypes: not in function bodies, where a variable can look like one.
[
  (translation_unit (declaration declarator: [
    (function_declarator declarator: (_) @name)
    (_ (function_declarator declarator: (_) @name))
    (_ (_ (function_declarator declarator: (_) @name)))
  ]) @definition)
  (preproc_ifdef (declaration declarator: [
    (function_declarator declarator: (_) @name)
    (_ (function_declarator declarator: (_) @name))
    (_ (_ (function_declarator declarator: (_) @name)))
  ]) @definition)
  (preproc_if (declaration declarator: [
    (function_declarator declarator: (_) @name)
    (_ (function_declarator declarator: (_) @name))
    (_ (_ (function_declarator declarator: (_) @name)))
  ]) @definition)
  (preproc_else (declaration declarator: [
    (function_declarator declarator: (_) @name)
    (_ (function_declarator declarator: (_) @name))
    (_ (_ (function_declarator declarator: (_) @name)))
  ]) @definition)
  (preproc_elif (declaration declarator: [
    (function_declarator declarator: (_) @name)
    (_ (function_declarator declarator: (_) @name))
    (_ (_ (function_declarator declarator: (_) @name)))
  ]) @definition)
]

(struct_specifier name: (type_identifier) @name body: (_)) @definition
(union_specifier name: (type_identifier) @name body: (_)) @definition
(enum_specifier name: (type_identifier) @name body: (_)) @definition
(struct_specifier !name body: (_)) @section
(union_specifier !name body: (_)) @section
(enum_specifier !name body: (_)) @section
(type_definition) @definition
(preproc_function_def name: (identifier) @name) @definition

; Tables.
(translation_unit (declaration
  declarator: (init_declarator value: (initializer_list)) @section))
