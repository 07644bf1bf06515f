package analyze.agent;

/** Writes JSON: as much of it as {@code /debug/vars} is made of. */
final class Json {
    private final StringBuilder text = new StringBuilder(1024);

    static String object(java.util.function.Consumer<Json> fields) {
        Json json = new Json();
        json.text.append('{');
        fields.accept(json);
        return json.text.append("}\n").toString();
    }

    void object(String name, Runnable fields) {
        key(name);
        element('{', '}', fields);
    }

    void array(String name, Runnable elements) {
        key(name);
        element('[', ']', elements);
    }

    /** An object in an array. */
    void object(Runnable fields) {
        comma();
        element('{', '}', fields);
    }

    void number(String name, long value) {
        key(name);
        text.append(value);
    }

    /** A count that could not be had is -1 in Java's beans, and null here. */
    void numberOrNull(String name, long value) {
        key(name);
        text.append(value < 0 ? "null" : Long.toString(value));
    }

    void string(String name, String value) {
        key(name);
        quoted(value);
    }

    /** A string in an array. */
    void string(String value) {
        comma();
        quoted(value);
    }

    private void element(char open, char close, Runnable inside) {
        text.append(open);
        inside.run();
        text.append(close);
    }

    private void key(String name) {
        comma();
        quoted(name);
        text.append(':');
    }

    private void comma() {
        char last = text.charAt(text.length() - 1);
        if (last != '{' && last != '[') {
            text.append(',');
        }
    }

    private void quoted(String value) {
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                text.append('\\').append(c);
            } else if (c < ' ' || Character.isSurrogate(c)) {
                text.append(String.format("\\u%04x", (int) c));
            } else {
                text.append(c);
            }
        }
        text.append('"');
    }
}
