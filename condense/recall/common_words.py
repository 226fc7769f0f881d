# ruff: noqa: RUF001 - letters of other scripts
"""Words of any question and of any short answer, which tell nothing of what it is about."""

from collections.abc import Collection

_ENGLISH = """
continue evening fine good great keep morning nice perfect sounds sure works wrong right day happy
sorry please about after again ago all also am an and any are as ask asked at be because been
before being but by can could did do does doing don done down else ever exactly for from get gets
give go goes going got had has have having he hello help her hey hi him his how if in into is it
its just know let like ll make many may me might mine more most much must my need needed no not
now of off oh ok okay on once one only or other our out over own perhaps re really remember remind
said same say says see she should show since so some still such take tell than thank thanks that
the their them then there these they thing things think this those to told too up us use used
using very ve want wanted was way we well were what when where which while who whom whose why will
with would yes yet you your
"""
_GERMAN = """
abend genau guten klar klasse leider mach morgen passt perfekt prima stimmt tag toll aber alle
alles als also am an auch auf aus bei beim bin bis bitte brauche da damals danke dann darf das
dass dein dem den denn der des die dies diese dir doch du eigentlich ein eine einem einen einer
eines er es etwas fur gab gerade gern gesagt gibt gut habe haben hab hat hatte hatten ich ihm ihn
ihr ihre im in ist ja jetzt kann kannst kein keine konnen konnte machen mal man mein meine mich
mir mit mehr muss mussen nach nein nicht nichts noch nochmal nun nur ob oder ohne schon sehr sein
seine sich sie sind so soll sollen sollte sollten super um und uns unser unsere vom von vor war
waren warum was weg weiter welche welchem welchen welcher welches wenn wer werden wie wieder
wieviel will wir wird wo wollte wollten wurde wurden zu zum zur
"""
_FRENCH = """
accord bonsoir continue genial journee matin parfait salut super va au aux avec avait avais avez
avoir avons bien bon bonjour ca ce ces cet cette combien comme comment dans de deja des dit dois
doit donc du elle elles en encore est et ete etre eu fait faire fallait faut je la le les leur
leurs lui ma mais me meme merci mes moi mon ne non nos notre nous on ont ou oui par pas peux peut
plus plutot pour pouvez pourquoi qu quand que quel quelle quelles quels qui quoi rappelle sa sans
se ses si son sont sur ta te tes toi ton tout toute tous tres tu un une voulais vos votre vous
"""
_SPANISH = """
adelante buenas buenos dias genial perfecto sigue tardes ahora al algo antes aqui asi aun bueno
cada como con cosa cual cuales cuando cuanta cuantas cuanto cuantos de debe debo decias del desde
dijiste dijo donde dos el ella ellos en entonces era eramos eran eres es esa ese eso esta estaba
estan este esto estoy fue gracias ha habia habiamos hace hacer hago hasta hay hola la las le les
lo los mas me mi mis muy nada ni no nos nosotros nuestra nuestro os otra otro para pero poco por
porque puede puedo pues que quedamos quien quienes recuerdame se sea ser si sin sobre solo somos
son soy su sus tal tambien te tengo tenemos tenia teniamos tiene tienes toda todo todos tu un una
uno unos vale va vamos vez ya yo
"""
_RUSSIAN = """
давай день добрыи отлично понятно привет продолжай продолжаи утро без бы был была были было быть
вам вас ведь весь во вот все всего вы где да даже для до его ее если есть еще же за здесь из или
им их как какая какие какой каком какую ко когда кого которая которые который кто куда ли меня мне
много можно мои мой моя мы на над надо нам нас наш наша не него нее нет ни но ну нужно об он она
они от очень по под пожалуиста помнишь помню потом потому почему при про раз сам самая самыи свои
себя сеичас сеи сколько со спасибо так такои там тебя теперь то тобои тогда того тоже только том
тот ты уже хорошо хочу чего чем что чтоб чтобы эта эти это этого этои этот
"""
_ARABIC = """
اكمل تمام جيد حسنا رائع صباح مرحبا ان انا انت او اذا اي اين الان الى التي الذي الذين اليوم ام بعد
بل به بها بين تم ثم جدا حتى حول خلال ذلك دون سوف شكرا شو صار عن عند عندما على عليه عليها غير في
فقط فيه فيها قال قبل قد كان كانت كل كلها كم كما كنت كنا كيف لا لك لكن لم لماذا لن لنا له لها لو لي
ليس ما ماذا مازال متى مثل مرة مع من منذ منه منها نحن نعم هذا هذه هل هم هنا هناك هو هي وما ومن ولا
وهل يا يكون
"""
# By language, without accents.
_LISTS = (_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _RUSSIAN, _ARABIC)
_COMMON = tuple([frozenset(words.split()) for words in _LISTS])


def common_words(words: Collection[str]) -> frozenset[str]:
    """Return the common words of the language that most of these words may be of."""
    return max(_COMMON, key=lambda common: sum(word in common for word in words))
