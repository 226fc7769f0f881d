; Directives that open a block, and the markup between directives.
((directive (code) @name) @definition
  (#match? @name "(\\bdo\\b|^\\s*(if|unless|case|while|until|for|begin|def|function|class)\\b|\\{\\s*(\\|[^|]*\\|\\s*)?$)"))

(content) @inject.html
