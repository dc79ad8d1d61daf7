package io.kcp4j.sim;

import io.kcp4j.internal.session.Session;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * A restart of the server of {@link SimulatedEndpoints}: it forgets all sessions and tells nobody.
 * Clients whose session has the extension notice, if the server still has its secret; others find
 * that their peer no longer answers, or are closed.
 */
final class SimulatedRestart {

  private static final long OWN_RANDOM = 0x5245_5354_4152_54L;

  /** One run in so many has a restart, unless it has a flood. */
  private static final int ONE_IN = 4;

  private final SplittableRandom random;
  private final boolean keepsSecret;

  /** The conversations that the server had accepted before. */
  private final Set<Integer> forgotten = new HashSet<>();

  /** The clients' sessions that had the extension then. */
  private final Map<Integer, Session> noticing = new HashMap<>();

  private SimulatedRestart(SplittableRandom random) {
    this.random = random;
    keepsSecret = random.nextInt(4) > 0;
  }

  /** The restart of a run, or null for none. */
  static SimulatedRestart draw(long seed) {
    SplittableRandom random = new SplittableRandom(seed ^ OWN_RANDOM);
    return random.nextInt(ONE_IN) == 0 ? new SimulatedRestart(random) : null;
  }

  int drawTimeMs(int withinMs) {
    return random.nextInt(withinMs);
  }

  /** Whether the server has the secret of its reset tokens afterwards. */
  boolean keepsSecret() {
    return keepsSecret;
  }

  /** The server restarts now. */
  void forget(Collection<SimulatedConversation> serverSides) {
    for (SimulatedConversation serverSide : serverSides) {
      if (serverSide.session() != null) {
        forgotten.add(serverSide.conv());
        Session client = serverSide.peer().session();
        if (keepsSecret && !serverSide.isClosed() && client.isExtensionEstablished()) {
          noticing.put(serverSide.conv(), client);
        }
      }
    }
  }

  /** Whether the server had accepted this conversation before it restarted. */
  boolean hasForgotten(int conv) {
    return forgotten.contains(conv);
  }

  /** Whether the client of this conversation has to notice the restart. */
  boolean isNoticed(int conv) {
    Session client = noticing.get(conv);
    return client != null && !client.isExtensionUnsupported(); // The MTU may be too small now.
  }
}
