package io.kcp4j.internal.memory;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Who may use the reserve of a {@link MemoryLimit}: one claimant at a time, each of which decides
 * for the sessions of one socket. First comes the one whose network has not had the reserve for
 * longest, where those that hold little are ahead of others by some time; of those, the one that
 * has waited longest. Thread-safe.
 */
public final class MemoryReserve {

  /** A claim that is not repeated for so long ends. */
  private static final long CLAIM_US = 2_000_000;

  /** A claim is repeated no more often than this. */
  private static final long RENEWAL_US = 20_000;

  private static final State FREE = new State(null, List.of(), Map.of());

  private final NetworkParts parts;
  private final AtomicReference<State> state = new AtomicReference<>(FREE);

  private record Claim(Object claimant, int network, long claimedAtUs, long renewedAtUs) {}

  /**
   * @param holder who may use the reserve, or null
   * @param claims of the others
   * @param turns when each network got the reserve last
   */
  private record State(Object holder, List<Claim> claims, Map<Integer, Long> turns) {

    Claim claimOf(Object claimant) {
      for (Claim claim : claims) {
        if (claim.claimant == claimant) {
          return claim;
        }
      }
      return null;
    }

    /** The claims but that of one claimant, as far as they were repeated. */
    List<Claim> others(Object claimant, long nowUs) {
      List<Claim> others = new ArrayList<>(claims.size() + 1);
      for (Claim claim : claims) {
        if (claim.claimant != claimant && nowUs - claim.renewedAtUs < CLAIM_US) {
          others.add(claim);
        }
      }
      return others;
    }

    State without(Object claimant) {
      List<Claim> others = new ArrayList<>(claims);
      others.removeIf(claim -> claim.claimant == claimant);
      return new State(holder == claimant ? null : holder, others, turns);
    }
  }

  MemoryReserve(NetworkParts parts) {
    this.parts = parts;
  }

  /**
   * Whether {@link #acquire} would refuse, since another one has the reserve, and change nothing.
   */
  public boolean isRefused(Object claimant, long nowUs) {
    State now = state.get();
    Claim claim = now.claimOf(claimant);
    return now.holder != null && now.holder != claimant && isRecent(claim, nowUs);
  }

  private static boolean isRecent(Claim claim, long nowUs) {
    return claim != null && nowUs - claim.renewedAtUs < RENEWAL_US;
  }

  /**
   * Gives the reserve to a claimant, or notes that it waits, until it calls this again within two
   * seconds.
   *
   * @param network that of the session for which it claims
   * @return whether the claimant has the reserve now
   */
  public boolean acquire(Object claimant, int network, long nowUs) {
    while (true) {
      State before = state.get();
      if (before.holder == claimant) {
        return true;
      }
      Claim claim = before.claimOf(claimant);
      if (isRecent(claim, nowUs) && before.holder != null) {
        return false;
      }
      long sinceUs = claim == null ? nowUs : claim.claimedAtUs;
      Claim renewed = new Claim(claimant, network, sinceUs, nowUs);
      List<Claim> others = before.others(claimant, nowUs);
      boolean isNext = before.holder == null && isFirst(renewed, others, before.turns);
      State after = isNext ? held(renewed, others, before) : waiting(renewed, others, before);
      if (state.compareAndSet(before, after)) {
        return isNext;
      }
    }
  }

  private boolean isFirst(Claim claim, List<Claim> others, Map<Integer, Long> turns) {
    Comparator<Claim> order =
        Comparator.comparing((Claim c) -> nextTurnUs(c.network, turns))
            .thenComparing(Claim::claimedAtUs);
    return others.stream().allMatch(other -> order.compare(claim, other) <= 0);
  }

  private static State held(Claim claim, List<Claim> others, State before) {
    Map<Integer, Long> turns = new HashMap<>(before.turns);
    turns.put(claim.network, claim.renewedAtUs);
    return new State(claim.claimant, others, turns);
  }

  private static State waiting(Claim claim, List<Claim> others, State before) {
    others.add(claim);
    return new State(before.holder, others, before.turns);
  }

  /**
   * Takes the reserve from a claimant that has it, or ends its claim. Other sessions of it may wait
   * for their turns.
   */
  public void release(Object claimant) {
    state.updateAndGet(before -> before.without(claimant));
  }

  /** The same when no session of the claimant waits: the last one ends the order of the turns. */
  public void endWait(Object claimant) {
    state.updateAndGet(
        before -> {
          State after = before.without(claimant);
          return after.holder == null && after.claims.isEmpty() ? FREE : after;
        });
  }

  /** Whether others than the claimant wait for the reserve. */
  public boolean isAwaited(Object claimant, long nowUs) {
    return !state.get().others(claimant, nowUs).isEmpty();
  }

  /**
   * In which order networks have the next turn: by the time of the last one, 0 if there was none
   * since others waited, and by what they hold.
   */
  public long nextTurnUs(int network) {
    return nextTurnUs(network, state.get().turns);
  }

  private long nextTurnUs(int network, Map<Integer, Long> turns) {
    return turns.getOrDefault(network, 0L) + parts.turnDelayUs(network);
  }
}
