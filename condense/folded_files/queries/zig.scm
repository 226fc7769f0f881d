; Functions, tests and containers that are given a name.
(Decl (FnProto function: (IDENTIFIER) @name)) @definition
(TestDecl) @definition
(Decl (VarDecl
  variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr [(ContainerDecl) (ErrorSetDecl)])))) @definition
