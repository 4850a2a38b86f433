package steelyard.ycsb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import org.codehaus.jackson.JsonNode;
import org.codehaus.jackson.map.ObjectMapper;
import site.ycsb.ByteIterator;
import site.ycsb.Status;

/**
 * etcd 3.4 or newer, by its JSON gateway, which needs no library and costs each request a little more than gRPC.
 *
 * <p>A record is one value at {@code usertable/KEY}, so an update of a field reads, changes and writes it where
 * nobody else has written meanwhile. Reads and scans are linearizable. Threads use the members in turn; of one that
 * cannot be reached, the next is asked.
 */
public final class Etcd extends Binding {
  private static final int MOST_TRIES = 100;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Shared<Session> SHARED = new Shared<>();
  private static final AtomicInteger THREADS = new AtomicInteger();

  private Session session;
  private List<Server> servers;
  private int member;

  /** What all threads share: connections, and the token by which members know us. */
  private static final class Session implements AutoCloseable {
    final HttpClient client;
    volatile String token;

    Session(HttpClient client) {
      this.client = client;
    }

    @Override
    public void close() {
      token = null;
    }
  }

  @Override
  void connect() throws Exception {
    servers = servers();
    member = THREADS.getAndIncrement() % servers.size();
    session = SHARED.join(this::opened);
    post("kv/range", "\"key\":" + quoted(name("")) + ",\"count_only\":true");
  }

  @Override
  void create() throws Exception {
    post("kv/deleterange", "\"key\":" + quoted(name("")) + ",\"range_end\":" + end());
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return attempt(() -> {
      JsonNode pair = find(key);
      if (pair != null) {
        result.putAll(chosen(pair, fields));
      }
      return pair == null ? Status.NOT_FOUND : Status.OK;
    });
  }

  @Override
  public Status scan(
      String table, String start, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
    String range = "\"key\":" + quoted(name(start)) + ",\"range_end\":" + end() + ",\"limit\":\"" + count + "\"";
    return attempt(() -> {
      post("kv/range", range).path("kvs").forEach(pair -> result.add(chosen(pair, fields)));
      return Status.OK;
    });
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    Map<String, byte[]> changes = Value.contents(values);
    return attempt(() -> {
      for (int tries = 0; tries < MOST_TRIES; tries++) {
        JsonNode pair = find(key);
        if (pair == null) {
          return Status.NOT_FOUND;
        }
        Map<String, byte[]> merged = Value.contents(Value.unpacked(value(pair)));
        merged.putAll(changes);
        if (replace(key, pair.path("mod_revision").asText(), Value.packed(merged))) {
          return Status.OK;
        }
      }
      throw new IOException("others wrote " + key + " " + MOST_TRIES + " times meanwhile");
    });
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    String put = put(key, Value.packed(Value.contents(values)));
    return attempt(() -> {
      post("kv/put", put);
      return Status.OK;
    });
  }

  @Override
  public Status delete(String table, String key) {
    return attempt(() -> {
      JsonNode answer = post("kv/deleterange", "\"key\":" + quoted(name(key)));
      return answer.path("deleted").asInt() == 0 ? Status.NOT_FOUND : Status.OK;
    });
  }

  @Override
  void disconnect() throws Exception {
    SHARED.leave();
  }

  private Session opened() throws Exception {
    HttpClient.Builder builder =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(timeout());
    SSLContext encryption = encryption();
    if (encryption != null) {
      builder.sslContext(encryption);
    }
    return new Session(builder.build());
  }

  /** The pair of a key; null where there is none. */
  private JsonNode find(String key) throws Exception {
    return post("kv/range", "\"key\":" + quoted(name(key))).path("kvs").get(0);
  }

  /** Whether a value could be written, because nobody has done so since that revision. */
  private boolean replace(String key, String revision, byte[] value) throws Exception {
    String unchanged =
        "{\"key\":" + quoted(name(key)) + ",\"target\":\"MOD\",\"mod_revision\":\"" + revision + "\"}";
    String write = "{\"request_put\":{" + put(key, value) + "}}";
    return post("kv/txn", "\"compare\":[" + unchanged + "],\"success\":[" + write + "]").path("succeeded").asBoolean();
  }

  /** An answer to a request, with a token that is made anew once where the member knows it no more. */
  private JsonNode post(String what, String members) throws Exception {
    String token = session.token == null ? renewed(null) : session.token;
    HttpResponse<byte[]> response = send(what, members, token);
    return checked(response.statusCode() == 401 ? send(what, members, renewed(token)) : response);
  }

  /** A token in place of one that is refused, unless another thread has it already; empty without a password. */
  private String renewed(String refused) throws Exception {
    synchronized (session) {
      if (Objects.equals(session.token, refused)) {
        session.token = password() == null ? "" : authenticated();
      }
      return session.token;
    }
  }

  private String authenticated() throws Exception {
    String name = JSON.writeValueAsString(property("user", "root"));
    String members = "\"name\":" + name + ",\"password\":" + JSON.writeValueAsString(password());
    return checked(send("auth/authenticate", members, "")).path("token").asText();
  }

  private HttpResponse<byte[]> send(String what, String members, String token) throws Exception {
    List<String> reasons = new ArrayList<>();
    for (int tries = 0; tries < servers.size(); tries++) {
      Server server = servers.get(member);
      try {
        return session.client.send(request(server, what, members, token), HttpResponse.BodyHandlers.ofByteArray());
      } catch (IOException error) {
        member = (member + 1) % servers.size();
        reasons.add(server.address() + ":" + server.port() + ": " + reason(error));
        if (error instanceof HttpTimeoutException) {
          break; // the operation has had its time
        }
      }
    }
    throw new IOException(String.join("; ", reasons));
  }

  private HttpRequest request(Server server, String what, String members, String token) {
    String scheme = System.getenv(AUTHORITY) == null ? "http" : "https";
    URI uri = URI.create(scheme + "://" + server.address() + ":" + server.port() + "/v3/" + what);
    HttpRequest.Builder builder =
        HttpRequest.newBuilder(uri).timeout(timeout()).POST(HttpRequest.BodyPublishers.ofString("{" + members + "}"));
    return (token.isEmpty() ? builder : builder.header("Authorization", token)).build();
  }

  private static JsonNode checked(HttpResponse<byte[]> response) throws IOException {
    if (response.statusCode() != 200) {
      throw new IOException("HTTP " + response.statusCode() + ": " + new String(response.body(), UTF_8).strip());
    }
    return JSON.readTree(response.body());
  }

  private static HashMap<String, ByteIterator> chosen(JsonNode pair, Set<String> fields) {
    HashMap<String, ByteIterator> record = new HashMap<>(Value.unpacked(value(pair)));
    if (fields != null) {
      record.keySet().retainAll(fields);
    }
    return record;
  }

  private static byte[] value(JsonNode pair) {
    return Base64.getDecoder().decode(pair.path("value").asText());
  }

  private String put(String key, byte[] value) {
    return "\"key\":" + quoted(name(key)) + ",\"value\":" + quoted(value);
  }

  private byte[] name(String key) {
    return (table() + "/" + key).getBytes(UTF_8);
  }

  /** The first key after all of the table: '0' follows '/'. */
  private String end() {
    return quoted((table() + "0").getBytes(UTF_8));
  }

  private static String quoted(byte[] bytes) {
    return '"' + Base64.getEncoder().encodeToString(bytes) + '"';
  }
}
