package io.kcp4j.smux;

import io.kcp4j.AllocationSites;
import org.junit.jupiter.api.Test;

class SmuxAllocationSitesTest {

  @Test
  void eachClassThatAllocatesIsListedWithItsCharge() {
    AllocationSites.check("/smux-allocation-sites.txt", "io.kcp4j.smux");
  }
}
