package steelyard.cassandra;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.management.ObjectName;
import org.apache.cassandra.cql3.CQLStatement;
import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.cql3.statements.schema.AlterSchemaStatement;
import org.apache.cassandra.cql3.statements.schema.AlterTableStatement;
import org.apache.cassandra.cql3.statements.schema.CreateIndexStatement;
import org.apache.cassandra.cql3.statements.schema.CreateKeyspaceStatement;
import org.apache.cassandra.cql3.statements.schema.CreateTableStatement;
import org.apache.cassandra.cql3.statements.schema.CreateTypeStatement;
import org.apache.cassandra.cql3.statements.schema.CreateViewStatement;
import org.apache.cassandra.exceptions.RequestValidationException;
import org.apache.cassandra.schema.SchemaConstants;
import org.apache.cassandra.service.ClientState;

/**
 * See {@link StatementsMBean}. Cassandra's own grammar reads them, in a node, since whatever else read them might understand
 * them otherwise than the node that runs them.
 */
public final class Statements implements StatementsMBean {
  static final String NAME = "steelyard:type=Statements";
  private static final Set<Class<?>> MAKE = Set.of(
      CreateKeyspaceStatement.Raw.class, CreateTableStatement.Raw.class, CreateTypeStatement.Raw.class,
      CreateIndexStatement.Raw.class, CreateViewStatement.Raw.class);
  private static final Set<String> ALTER = Set.of("AddColumns", "DropColumns");  // how columns that are gone are described

  static void register() throws Exception {
    ManagementFactory.getPlatformMBeanServer().registerMBean(new Statements(), new ObjectName(NAME));
  }

  @Override
  public List<String> faults(List<String> statements) {
    Set<String> made = new HashSet<>();
    return new ArrayList<>(statements.stream().map(text -> fault(text, made)).toList());
  }

  /** Its words are looked at first: the grammar loads the class of a type to understand it. */
  private static String fault(String text, Set<String> made) {
    try {
      List<String> named = Words.of(text).faults();
      return named.isEmpty() ? fault(QueryProcessor.parseStatement(text), made) : named.get(0);
    } catch (RequestValidationException | StackOverflowError error) {
      return "is none that Cassandra understands: " + String.valueOf(error.getMessage());
    }
  }

  private static String fault(CQLStatement.Raw raw, Set<String> made) {
    if (!MAKE.contains(raw.getClass()) && !(raw instanceof AlterTableStatement.Raw)) {
      return "is not a definition of a keyspace, table, type, index or view";
    }
    AlterSchemaStatement statement = (AlterSchemaStatement) raw.prepare(ClientState.forInternalCalls());
    if (statement instanceof AlterTableStatement && !ALTER.contains(statement.getClass().getSimpleName())) {
      return "changes a table otherwise than by columns that it had or lost";
    }
    return misplaced(statement, made);
  }

  private static String misplaced(AlterSchemaStatement statement, Set<String> made) {
    String keyspace = statement.keyspace();
    if (SchemaConstants.isSystemKeyspace(keyspace.toLowerCase())) {
      return "is about " + keyspace + ", which Cassandra keeps for itself";
    }
    if (statement instanceof CreateKeyspaceStatement) {
      made.add(keyspace);
    }
    return made.contains(keyspace) ? "" : "is about the keyspace " + keyspace + ", which no statement before it makes";
  }
}
