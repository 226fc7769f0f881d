; Values that go over several lines, under their keys.
(document [(object) (array)] @section)
(pair key: (_) @name value: [(object) (array)]) @section
