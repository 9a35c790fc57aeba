const views = [sentenceView, headsView, causesView, circuitView, tryView, sideView, stepsView, tokenCircuitsView];
start();
