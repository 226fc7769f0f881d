; Functions, methods, types and namespaces; a template is shown at what it makes.
(function_definition
  declarator: (_ declarator: (_) @name)) @definition

; Prototypes: not in function bodies, where a variable can look like one.
[
  (translation_unit (declaration declarator: [
    (function_declarator declarator: (_) @name)
    (_ (function_declarator declarator: (_) @name))
    (_ (_ (function_declarator declarator: (_) @name)))
  ]) @definition)
  (declaration_list (declaration declarator: [
    (function_declarator declarator: (_) @name)
    (_ (function_declarator declarator: (_) @name))
    (_ (_ (function_declarator declarator: (_) @name)))
  ]) @definition)
  (template_declaration (declaration declarator: [
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

; Methods that are only declared.
(field_declaration_list (field_declaration
  declarator: (function_declarator declarator: (_) @name)) @definition)
(field_declaration_list (field_declaration
  declarator: (_ (function_declarator declarator: (_) @name))) @definition)
(field_declaration_list (declaration
  declarator: (function_declarator declarator: (_) @name)) @definition)

(class_specifier name: (_) @name body: (_)) @definition
(struct_specifier name: (_) @name body: (_)) @definition
(union_specifier name: (_) @name body: (_)) @definition
(enum_specifier name: (_) @name body: (_)) @definition
(struct_specifier !name body: (_)) @section
(union_specifier !name body: (_)) @section
(enum_specifier !name body: (_)) @section
(namespace_definition name: (_) @name) @definition
(namespace_definition !name) @section
(concept_definition name: (identifier) @name) @definition
(alias_declaration name: (type_identifier) @name) @definition
(type_definition) @definition
(preproc_function_def name: (identifier) @name) @definition

; Tables.
(translation_unit (declaration
  declarator: (init_declarator value: (initializer_list)) @section))
