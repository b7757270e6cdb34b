/** The patterns of docs/from_flink.md, which take the places marked PATTERN, on the events of that page. */

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.PatternSelectFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

public class Translations {
    public static class Event {
        public long ts;
        public long millis;
        public String type;
        public int id;
    }

    public static class Login extends Event {
        public String user;
        public boolean ok;
    }

    public static class Quote extends Event {
        public double price;
    }

    static SimpleCondition<Event> isOrder = SimpleCondition.of(e -> e.type.equals("order"));
    static SimpleCondition<Event> isCancel = SimpleCondition.of(e -> e.type.equals("cancel"));
    static SimpleCondition<Event> isShip = SimpleCondition.of(e -> e.type.equals("ship"));

    static <T extends Event> T event(T event, long ts, String type, long unit) {
        event.ts = ts;
        event.millis = ts * unit;
        event.type = type;
        return event;
    }

    static List<Event> events(String types, long unit, int... ids) {
        List<Event> events = new ArrayList<>();
        for (String type : types.split(" ")) {
            Event event = event(new Event(), events.size(), type, unit);
            event.id = ids[events.size()];
            events.add(event);
        }
        return events;
    }

    static List<Login> logins(List<String> users, List<Boolean> ok) {
        List<Login> logins = new ArrayList<>();
        for (int k = 0; k < users.size(); k++) {
            Login login = event(new Login(), k, "login", 1);
            login.user = users.get(k);
            login.ok = ok.get(k);
            logins.add(login);
        }
        return logins;
    }

    static List<Quote> quotes(double... prices) {
        List<Quote> quotes = new ArrayList<>();
        for (double price : prices) {
            Quote quote = event(new Quote(), quotes.size(), "quote", 1);
            quote.price = price;
            quotes.add(quote);
        }
        return quotes;
    }

    /** The matches, each as the times of its events. */
    public static class Times<T extends Event> implements PatternSelectFunction<T, String> {
        public String select(Map<String, List<T>> match) {
            List<Long> times = new ArrayList<>();
            match.values().forEach(events -> events.forEach(event -> times.add(event.ts)));
            return times.toString();
        }
    }

    static <T extends Event> void run(String name, Class<T> type, List<T> events, KeySelector<T, String> key, Pattern<T, ?> pattern)
            throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1);
        var times = WatermarkStrategy.<T>forMonotonousTimestamps().withTimestampAssigner((event, before) -> event.millis);
        var stream = environment.fromCollection(events, TypeInformation.of(type)).assignTimestampsAndWatermarks(times).keyBy(key);
        List<String> found = new ArrayList<>();
        var matches = CEP.pattern(stream, pattern).inEventTime().select(new Times<T>(), TypeInformation.of(String.class));
        try (var each = matches.executeAndCollect()) {
            each.forEachRemaining(found::add);
        }
        System.out.println("found " + name + " " + found);
    }

    public static void main(String[] arguments) throws Exception {
        long second = 1_000, hour = 3_600_000;
        List<Login> logins = logins(List.of("ann", "bob", "ann", "bob"), List.of(false, false, true, false));
        run("next", Login.class, logins, e -> e.user, /* PATTERN next */);
        List<Event> jobs = events("start log end end", second, 7, 7, 7, 7);
        run("followedBy", Event.class, jobs, e -> "" + e.id, /* PATTERN followedBy */);
        run("followedByAny", Event.class, jobs, e -> "" + e.id, /* PATTERN followedByAny */);
        List<Quote> quotes = quotes(100, 110, 120, 80);
        run("oneOrMore", Quote.class, quotes, e -> e.type, /* PATTERN oneOrMore */);
        run("skipPastLastEvent", Quote.class, quotes, e -> e.type, /* PATTERN skipPastLastEvent */);
        List<Event> orders = events("order order cancel ship ship order", hour, 1, 2, 1, 1, 2, 3);
        run("between", Event.class, orders, e -> "" + e.id, /* PATTERN between */);
        run("end", Event.class, orders, e -> "" + e.id, /* PATTERN end */);
    }
}
